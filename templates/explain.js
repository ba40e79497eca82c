// a formula and its lines of code light up together: under the pointer, and where the keyboard is
const keysOf = (e) => (e.dataset.key ?? e.dataset.keys).split("|");
const light = (event, on) => {
  const from = event.target.closest?.("[data-key], [data-keys]");
  if (!from) return;
  let first = true;
  for (const e of document.querySelectorAll("[data-key], [data-keys]")) {
    if (!keysOf(e).some((key) => keysOf(from).includes(key))) continue;
    e.classList.toggle("lit", on);
    const pane = e.closest("pre");
    if (on && first && pane && !pane.contains(from)) {
      pane.scrollTop = e.offsetTop - pane.clientHeight / 2; // the page itself stays where it is
      first = false;
    }
  }
};
for (const [name, on] of [["mouseover", true], ["mouseout", false], ["focusin", true], ["focusout", false]])
  document.addEventListener(name, (event) => light(event, on));
document.addEventListener("click", async (event) => {
  const button = event.target.closest("button.copy");
  if (!button) return;
  button.dataset.label ??= button.textContent;
  const text = button.value || button.closest(".code").querySelector("code").textContent;
  let said = "Copied";
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = Object.assign(document.createElement("textarea"), { value: text });
    document.body.append(area);
    area.select();
    if (!document.execCommand("copy")) said = "This browser does not let a page copy: select the text";
    area.remove();
    button.focus();
  }
  button.textContent = said;
  document.getElementById("said").textContent = said;
  setTimeout(() => (button.textContent = button.dataset.label), 2000);
});
