// Lists the new forms that this browser has drafts of.

import { access, draftNames, draftPrefix } from "./storage.js";

/** @type {any} */
const section = document.getElementById("continue");
const [list, row] = section.querySelectorAll("ul, template");
const start = `${draftPrefix} ${section.dataset.drafts}`;

access((store) => draftNames(store).forEach((name) => {
  if (name.startsWith(start) && name.includes("new=")) {
    add(name, titleOf(store.getItem(name)));
  }
}));

function add(name, title) {
  const item = row.content.firstChild.cloneNode(true);
  const [link, word] = item.querySelectorAll("a, bdi");
  link.href = name.split(" ")[2];
  if (title) {
    link.textContent = word.textContent = title;
  }
  item.querySelector("button").onclick = () => {
    access((store) => store.removeItem(name));
    item.remove();
    section.hidden = !list.firstChild;
  };
  list.append(item);
  section.hidden = false;
}

/** As it is typed, or else in the text. */
function titleOf(draft) {
  try {
    const { text: [text] = [""], _typed: [typed] = [""] } = JSON.parse(draft).values;
    const [, , title] = /^title: *(["']?)(.*)\1$/m.exec(text) ?? [];
    return new Map(JSON.parse(typed || "[]")).get("f-title") ?? title;
  } catch {
    return "";
  }
}
