// Lists the new forms that this browser has drafts of.

import { create } from "./dom.js";
import { access, draftNames, draftPrefix } from "./storage.js";
import { t } from "./text.js";

const section = /** @type {HTMLElement} */ (document.getElementById("continue"));
const list = /** @type {HTMLElement} */ (section.querySelector("ul"));
const start = `${draftPrefix} ${section.dataset.for} ${section.dataset.path}?`;

access((store) => {
  for (const name of draftNames(store)) {
    if (name.startsWith(start) && /[?&]new=/.test(name)) {
      list.append(row(store, name));
    }
  }
});
section.hidden = list.children.length === 0;

function row(store, name) {
  const shown = titleOf(store.getItem(name)) || t("Form without a title");
  const li = create("li", {});
  const cell = li.appendChild(create("div", { class: "row-name" }));
  cell.append(create("a", { href: name.split(" ")[2], dir: "auto" }, shown));
  const discard = create("button", { type: "button", class: "plain" }, t("Discard"));
  discard.append(create("span", { class: "visually-hidden" }, ` ${shown}`));
  discard.addEventListener("click", () => {
    access((open) => open.removeItem(name));
    li.remove();
    section.hidden = list.children.length === 0;
  });
  li.appendChild(create("span", { class: "row-links" })).append(discard);
  return li;
}

/** The title as it is typed, or else as it is in the text. */
function titleOf(draft) {
  try {
    const { text: [text] = [""], _typed: [typed] = [""] } = JSON.parse(draft).values;
    const [, title = ""] = /^title: *(.*)$/m.exec(text) ?? [];
    return new Map(JSON.parse(typed || "[]")).get("f-title") ?? title.replace(/^(["'])(.*)\1$/, "$2");
  } catch {
    return "";
  }
}
