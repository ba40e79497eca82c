// asks for the formula in the editor, and shows what is answered: J and J^T v first, then the code, then its check
const $ = (id) => document.getElementById(id);
const PAUSE = 250; // milliseconds without a key, until a formula is asked for
const formula = $("formula"), picked = $("library"), languages = [...document.querySelectorAll("[name=to]")];
let library = ""; // the name of what stands in the editor, as long as nobody changes it
let asked = new AbortController(), printed = new AbortController(), pause = 0; // the newest question for each

const post = async (question, signal) => {
  const headers = { "Content-Type": "application/json" };
  return (await fetch("answer", { method: "POST", headers, body: JSON.stringify(question), signal })).json();
};
const answer = globalThis.symgrad ?? post; // what answers where there is no server
const get = async (ask, signal) => {
  const question = { ask, to: language(), ...(library ? { library } : { formula: formula.value }) };
  try {
    return await answer(question, signal);
  } catch (error) {
    return signal.aborted ? null : { error: `Nothing answers here any more (${error.message}). Start symgrad playground again.` };
  }
};
const language = () => languages.find((one) => one.checked).value;

// what is shown
const put = (pane, found) => {
  pane.ariaBusy = null;
  if (found.error) pane.replaceChildren(Object.assign(document.createElement("p"), { textContent: found.error }));
  else pane.innerHTML = found.html; // sections of an explanation, in which symgrad has escaped all text
};
const mark = (at) => {
  const text = formula.value, here = Object.assign(document.createElement("mark"), { textContent: text[at]?.trim() || "\u00a0" });
  $("marks").replaceChildren(...(at === undefined ? [text] : [text.slice(0, at), here, text.slice(at + 1)]), "\u200b");
};
const told = (found) => {
  const at = found.at ?? undefined, before = formula.value.slice(0, at).split("\n");
  const where = at === undefined ? "" : `${before.length > 1 ? `line ${before.length}, ` : ""}column ${before.at(-1).length + 1}: `;
  $("error").textContent = found.error ? where + found.error : "";
  formula.setAttribute("aria-invalid", Boolean(found.error));
  mark(found.error ? at : undefined);
};

// what is asked
const update = async () => {
  clearTimeout(pause);
  asked.abort();
  asked = new AbortController();
  const { signal } = asked;
  link();
  if (!formula.value.trim() && !library) return told({}), show(false);
  $("derived").ariaBusy = true;
  const found = await get("derive", signal);
  if (signal.aborted) return;
  if (library && found.text) formula.value = found.text;
  told(found);
  for (const pane of document.querySelectorAll(".answer")) pane.inert = Boolean(found.error); // they are of the formula before
  if (found.error) return;
  put($("derived"), found);
  show(true);
  document.title = `${found.name} - symgrad playground`;
  await Promise.all([print(), derive(signal)]);
};
const print = async () => {
  printed.abort(); // of another language
  printed = new AbortController();
  const signal = AbortSignal.any([asked.signal, printed.signal]);
  const said = $("checked"), pane = $("report").lastElementChild;
  $("code").ariaBusy = true;
  said.textContent = "...";
  delete said.dataset.ok;
  const code = await get("code", signal);
  if (signal.aborted) return;
  put($("code"), code);
  $("report").hidden = true;
  if (code.error) return (said.textContent = "");
  said.textContent = "Checking ...";
  const found = await get("check", signal);
  if (signal.aborted) return;
  said.textContent = { true: "\u2713 ", false: "\u2717 " }[found.ok] ?? "";
  said.textContent += found.error ?? (found.ok === null ? found.said : found.said.split("\n")[0]);
  said.dataset.ok = found.ok ?? "";
  if (found.error) return;
  put(pane, found);
  $("report").hidden = false;
};
const derive = async (signal) => {
  const pane = $("derivation").lastElementChild;
  if (!$("derivation").open) return pane.replaceChildren();
  pane.ariaBusy = true;
  const found = await get("explain", signal);
  if (!signal.aborted) put(pane, found);
};
const show = (some) => {
  $("printed").hidden = $("derivation").hidden = !some;
  if (!some) $("derived").replaceChildren();
};

// the link: all of it behind #, which no browser sends anywhere
const link = () => {
  const words = new URLSearchParams({ ...(library ? { library } : { formula: formula.value }), to: language() });
  history.replaceState(null, "", `#${words}`);
  $("link").value = location.href;
};
const follow = () => {
  const words = new URLSearchParams(location.hash.slice(1));
  if (!words.has("formula") && !words.has("library")) return false;
  library = words.get("library") ?? "";
  picked.value = library;
  formula.value = library || words.get("formula");
  for (const one of languages) one.checked = one.value === (words.get("to") ?? "numpy");
  if (!languages.some((one) => one.checked)) languages[0].checked = true;
  told({});
  update();
  return true;
};

formula.addEventListener("input", () => {
  library = picked.value = "";
  mark();
  clearTimeout(pause);
  pause = setTimeout(update, PAUSE);
});
picked.addEventListener("change", () => {
  library = picked.value;
  update();
});
for (const one of languages)
  one.addEventListener("change", () => {
    link();
    print();
  });
for (const example of document.querySelectorAll(".examples button"))
  example.addEventListener("click", () => {
    library = picked.value = "";
    formula.value = example.value;
    update();
  });
$("derivation").addEventListener("toggle", () => derive(asked.signal));
addEventListener("hashchange", follow);
document.addEventListener("click", (event) => {
  const to = event.target.closest("a[href^='#']");
  const there = to && document.getElementById(to.hash.slice(1));
  if (!there) return;
  event.preventDefault(); // the link of the page stays what it is
  there.tabIndex = there.tabIndex < 0 ? -1 : there.tabIndex;
  there.focus();
});
if (!follow()) document.querySelector(".examples button").click();
get("library", asked.signal).then((found) => {
  for (const [name, some] of Object.entries(found?.groups ?? {})) {
    const group = Object.assign(document.createElement("optgroup"), { label: name });
    group.append(...some.map((one) => new Option(one.replaceAll("_", " "), one)));
    picked.append(group);
  }
  picked.value = library;
});
