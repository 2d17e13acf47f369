// Browsers keep pages in memory for the back button, some of them whatever
// Cache-Control says. After a sign-out, in whatever tab, such a page is loaded
// again: the server asks to sign in.
//
// What drafts.js keeps goes when it was sent, and at the sign-out.

const key = "formulary.signedOut";
const draftPrefix = "formulary.draft ";
const before = access(() => localStorage.getItem(key));

// The link leads to where a proxy signs people out.
for (const [event, element] of [["submit", "form"], ["click", "a"]]) {
  document.addEventListener(event, ({ target }) => {
    if (Element.prototype.matches.call(target, `${element}[data-sign-out]`)) {
      access(signOut);
    }
  });
}

window.addEventListener("pageshow", ({ persisted }) => {
  if (persisted && access(() => localStorage.getItem(key)) !== before) {
    location.reload();
  }
});

if (document.querySelector("[data-sent]")) {
  access(() => localStorage.removeItem(sessionStorage.getItem("formulary.sent") ?? ""));
  access(() => sessionStorage.removeItem("formulary.sent"));
}

function signOut() {
  localStorage.setItem(key, String(Date.now()));
  Object.keys(localStorage).filter((name) => name.startsWith(draftPrefix)).forEach((name) => localStorage.removeItem(name));
}

/** Does something with the storage, which a browser may refuse. */
function access(act) {
  try {
    return act();
  } catch {
    return undefined;
  }
}
