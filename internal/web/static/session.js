// Browsers keep pages in memory for the back button, some of them whatever
// Cache-Control says. After a sign-out, in whatever tab, such a page is loaded
// again: the server asks to sign in.
//
// What drafts.js keeps goes when it was sent, at the sign-out, and when somebody else
// opens a form.

import { access, draftNames, forgetSent, signedOut } from "./storage.js";

const before = access((store) => store.getItem(signedOut));

// The link leads to where a proxy signs people out.
for (const [event, element] of [["submit", "form"], ["click", "a"]]) {
  document.addEventListener(event, ({ target }) => {
    if (Element.prototype.matches.call(target, `${element}[data-sign-out]`)) {
      access(signOut);
    }
  });
}

window.addEventListener("pageshow", ({ persisted }) => {
  if (persisted && access((store) => store.getItem(signedOut)) !== before) {
    location.reload();
  }
});

forgetSent();

// What was done is told once: a reload neither tells it nor sends it again. After replaceState it asks for the page.
const address = new URL(location.href);
const told = ["sent", "saved", "deleted", "done"].filter((name) => address.searchParams.has(name));
if (told.length > 0 || document.querySelector(".outcome")) {
  told.forEach((name) => address.searchParams.delete(name));
  history.replaceState(history.state, "", address);
}

const user = document.querySelector('input[name="_for"]')?.getAttribute("value"); // by the same hash as in the names of drafts
if (user) {
  access((store) => removeOthers(store, new URL("../../", import.meta.url).pathname));
}

function signOut(store) {
  store.setItem(signedOut, String(Date.now()));
  draftNames(store).forEach((name) => store.removeItem(name));
}

/** Removes other users' drafts. Another server may be below another path of this host, with other hashes. */
function removeOthers(store, base) {
  for (const name of draftNames(store)) {
    const [, of, path] = name.split(" ");
    if (of !== user && (path?.startsWith(`${base}page/`) || path?.split("?")[0] === `${base}author`)) {
      store.removeItem(name);
    }
  }
}
