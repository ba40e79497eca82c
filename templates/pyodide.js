// symgrad in Pyodide, in a worker: a question as JSON comes in, its answer as JSON goes out
import { loadPyodide } from "./pyodide/pyodide.mjs";

const ready = (async () => {
  const { packages, wheels } = await (await fetch("static.json")).json();
  const python = await loadPyodide({ indexURL: new URL("pyodide/", location.href).href });
  await python.loadPackage(packages);
  for (const name of wheels) python.unpackArchive(await (await fetch(`pyodide/${name}`)).arrayBuffer(), "wheel");
  python.unpackArchive(await (await fetch("symgrad.zip")).arrayBuffer(), "zip", { extractDir: "/lib/symgrad" });
  return python.runPython(`
import json, sys
sys.path.insert(0, "/lib/symgrad")
from symgrad.playground.answers import answer
lambda question: json.dumps(answer(json.loads(question)))`);
})();
ready.then(() => postMessage("ready"), (error) => postMessage(JSON.stringify({ error: `Python did not start: ${error.message}` })));
onmessage = async ({ data }) => postMessage((await ready)(data));
