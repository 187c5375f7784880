// Keys of the desk. Each thing on the page names its own in data-key; what is typed into a field is only text.
(() => {
  "use strict";
  const TEXT = "textarea, select, [contenteditable], input:not([type=radio], [type=checkbox], [type=button], [type=submit])";

  const desk = () => document.getElementById("desk");
  const groups = () => [...document.querySelectorAll("#answer .grade")];
  const answered = (group) => group.querySelector(":checked") !== null;

  // Of two outputs, the one that the next grade goes to.
  const activate = (group) => {
    for (const one of document.querySelectorAll(".grade, .outputs > .side-by-side")) {
      one.classList.toggle("active", one.dataset.position === group?.dataset.position);
    }
  };
  const active = () => document.querySelector("#answer .grade.active") || groups()[0];
  const activateFirstOpen = () => {
    const open = groups().find((group) => !answered(group)) || groups()[0];
    if (open) activate(open);
  };

  const named = (key, root = desk()) =>
    [...root.querySelectorAll("[data-key]")].find((element) => element.dataset.key.split(" ").includes(key));

  const press = (element) => {
    if (element.matches("textarea")) return element.focus();
    if (element.matches("[type=checkbox]")) return element.click();
    if (element.matches("[type=radio]")) {
      if (!element.checked) element.click();
      return undefined;
    }
    if (element.matches("button, summary")) return element.click();
    return undefined;
  };

  const act = (key) => {
    const group = groups().find((one) => one.dataset.turnKey === key);
    if (group) return activate(group), true;
    const element = (active() && named(key, active())) || named(key);
    if (!element || element.disabled) return false;
    press(element);
    return true;
  };

  document.addEventListener("keydown", (event) => {
    if (!desk() || event.isComposing || event.defaultPrevented || document.querySelector("dialog[open]")) return;
    // For a moment after a dialog has closed, what had the focus in it still gets the keys.
    const target = event.target.closest("dialog") ? document.body : event.target;
    const typing = target.closest(TEXT);
    if (typing) {
      const save = event.key === "Enter" && (event.ctrlKey || event.metaKey);
      if (event.key === "Escape") typing.blur();
      if (!save || event.repeat || window.tertium.isBusy()) return;
      event.preventDefault();
      document.querySelector("#answer [type=submit]")?.click();
      return;
    }
    if (desk().classList.contains("keys-off")) return;
    if (event.ctrlKey || event.altKey || event.metaKey || event.repeat || window.tertium.isBusy()) return;
    // A focused button or link takes Enter for itself.
    if (event.key === "Enter" && target.closest("button, a, summary")) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (act(key)) event.preventDefault();
  });

  document.addEventListener("change", (event) => {
    const group = event.target.closest("#answer .grade");
    if (!group || groups().length < 2) return;
    const next = groups()[groups().indexOf(group) + 1];
    activate(next && !answered(next) ? next : group);
  });

  window.tertium = Object.assign(window.tertium || {}, { activateFirstOpen });
})();
