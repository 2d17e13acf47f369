// What pages need on paper: choices of a question that has not been answered, and names
// beside the answers of a table that is too wide.

import { t } from "./text.js";

const columnsOnPaper = 8;
let added = [];

addEventListener("beforeprint", () => {
  for (const select of /** @type {NodeListOf<HTMLSelectElement>} */ (document.querySelectorAll("form.form select"))) {
    if (select.value === "") {
      const list = document.createElement("ul");
      list.className = "paper-choices";
      for (const option of [...select.options].filter((o) => o.value !== "")) {
        list.append(Object.assign(document.createElement("li"), { textContent: option.label }));
      }
      select.after(list);
      added.push(list);
    }
  }
  /** @type {HTMLTableElement | null} */
  const table = document.querySelector("table.results");
  const names = [...(table?.tHead?.rows[0].cells ?? [])].map((cell) => cell.textContent.trim());
  if (table && names.length > columnsOnPaper) {
    table.classList.add("paper-cards");
    for (const row of table.tBodies[0].rows) {
      [...row.cells].forEach((cell, i) => cell.setAttribute("data-name", t("{0}: {1}", names[i], "")));
    }
  }
});

addEventListener("afterprint", () => {
  added.forEach((list) => list.remove());
  added = [];
  document.querySelector("table.results")?.classList.remove("paper-cards");
});
