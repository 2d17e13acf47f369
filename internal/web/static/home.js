// Lists the forms that differ from their page, and new ones: this browser has drafts of them.

import { access, draftNames, draftPrefix } from "./storage.js";

/** @type {any} */
const section = document.getElementById("continue");
const [list, row] = section.querySelectorAll("ul, template");

access((store) => draftNames(store).forEach((name) => {
  const path = name.split(" ")[2];
  const found = /form=(.*)&page=(.*)|new=/.exec(path);
  if (!found || !name.startsWith(`${draftPrefix} ${section.dataset.drafts}`)) {
    return;
  }
  const { text: [text] = [""], _typed: [typed] = [text] } = JSON.parse(store.getItem(name)).values ?? {};
  if (!typed) { // taken back
    return;
  }
  const item = row.content.firstChild.cloneNode(true);
  const [link, word] = item.querySelectorAll("a, bdi");
  link.href = path;
  const listed = document.querySelector(`[href$="page/${found[2]}/form/${found[1]}"]`);
  link.textContent = word.textContent = (typed !== text && new Map(JSON.parse(typed)).get("f-title"))
    || /^title: *["']?([^\s{"'].*?)["']?$/m.exec(text)?.[1] || listed?.textContent || found[1] || link.textContent;
  item.querySelector("button").onclick = () => {
    access((open) => open.removeItem(name));
    item.remove();
    section.hidden = !list.firstChild;
  };
  list.append(item);
  section.hidden = false;
}));
