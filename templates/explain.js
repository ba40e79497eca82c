// a formula and its lines of code light up together: under the pointer, and where the keyboard is
const marked = document.querySelectorAll("[data-key], [data-keys]");
const keysOf = (e) => (e.dataset.key ?? e.dataset.keys).split("|");
const light = (from, on) => {
  let first = true;
  for (const e of marked) {
    if (!keysOf(e).some((key) => keysOf(from).includes(key))) continue;
    e.classList.toggle("lit", on);
    const pane = e.closest("pre");
    if (on && first && pane && !pane.contains(from)) {
      pane.scrollTop = e.offsetTop - pane.clientHeight / 2; // the page itself stays where it is
      first = false;
    }
  }
};
for (const e of marked) {
  for (const [name, on] of [["mouseenter", true], ["mouseleave", false], ["focusin", true], ["focusout", false]])
    e.addEventListener(name, () => light(e, on));
}
for (const button of document.querySelectorAll("button.copy"))
  button.addEventListener("click", async () => {
    const text = button.closest(".code").querySelector("code").textContent;
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
    setTimeout(() => (button.textContent = "Copy the file"), 2000);
  });
