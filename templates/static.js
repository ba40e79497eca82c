// what answers the page where there is no server: a worker, which is ended where an answer takes too long
const SECONDS = Number(document.body.dataset.seconds);
let worker, started, last = Promise.resolve();

const start = () => {
  worker = new Worker("pyodide.js", { type: "module" });
  started = heard();
};
const heard = () => new Promise((resolve) => worker.addEventListener("message", ({ data }) => resolve(data), { once: true }));
const late = (seconds) => new Promise((resolve) => setTimeout(resolve, 1000 * seconds));

const asked = async (question, signal) => {
  const said = await started;
  if (said !== "ready") return JSON.parse(said);
  signal.throwIfAborted();
  const answered = heard();
  worker.postMessage(JSON.stringify(question));
  const found = await Promise.race([answered, late(SECONDS)]);
  if (found) return JSON.parse(found);
  worker.terminate();
  start();
  return { error: `this took more than ${SECONDS} s, and was ended. Ask for a smaller formula.` };
};
globalThis.symgrad = (question, signal) => {
  const answer = last.then(() => asked(question, signal)); // one after the other: there is one worker
  last = answer.catch(() => {});
  return answer;
};
start();
document.getElementById("derived").textContent = "Loading Python and symgrad, some 25 MB ...";
document.getElementById("about").textContent =
  "symgrad in this browser: what is typed here stays here. No C compiler is in a browser, and no torch or JAX: their code is printed, and not checked.";
