// Quoting a passage: what is selected in a text of the case, kept as its place among the text's characters.
(() => {
  "use strict";
  // Characters as the server counts them: what a mark names in several letters is one.
  const lengthOf = (node) => {
    if (node.nodeType === Node.TEXT_NODE) return [...node.data].length;
    if (node.nodeType === Node.ELEMENT_NODE && node.matches(".unseen, .return")) return 1;
    return [...node.childNodes].reduce((sum, child) => sum + lengthOf(child), 0);
  };
  const placeOf = (text, node, offset) => {
    const named = (node.nodeType === Node.TEXT_NODE ? node.parentElement : node).closest(".unseen");
    if (named) return placeOf(text, named.parentNode, [...named.parentNode.childNodes].indexOf(named) + (offset ? 1 : 0));
    const before = document.createRange();
    before.selectNodeContents(text);
    before.setEnd(node, offset);
    return lengthOf(before.cloneContents());
  };

  const selected = () => {
    const selection = document.getSelection();
    if (!selection.rangeCount || selection.isCollapsed) return null;
    const range = selection.getRangeAt(0);
    const inside = (node) => (node.nodeType === Node.TEXT_NODE ? node.parentElement : node).closest("[data-part]");
    const text = inside(range.startContainer) || inside(range.endContainer);
    if (!text) return null;
    // A selection that runs beyond the text is cut at its edge.
    const start = text.contains(range.startContainer) ? placeOf(text, range.startContainer, range.startOffset) : 0;
    const end = text.contains(range.endContainer) ? placeOf(text, range.endContainer, range.endOffset) : lengthOf(text);
    if (start >= end) return null;
    return { value: `${text.dataset.part}.${start}.${end}`, words: String(selection), name: text.dataset.name };
  };

  const changed = () => document.getElementById("answer").dispatchEvent(new Event("change", { bubbles: true }));

  document.addEventListener("mousedown", (event) => {
    if (event.target.closest("[data-quotes]")) event.preventDefault(); // a press would end the selection
  });
  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-unquotes]")) {
      event.target.closest("li").remove();
      changed();
    }
    if (!event.target.closest("[data-quotes]")) return;
    const quote = selected();
    if (!quote) {
      window.tertium.tellText("Select a passage in one of the texts first, then quote it.");
      return;
    }
    const list = document.getElementById("quotes");
    if (list.querySelector(`input[value="${quote.value}"]`)) return;
    const row = document.getElementById("quote").content.cloneNode(true);
    row.querySelector("input").value = quote.value;
    row.querySelector("span").textContent = `${quote.name}:`;
    row.querySelector("q").textContent = quote.words;
    list.append(row);
    document.getSelection().removeAllRanges();
    changed();
  });
})();
