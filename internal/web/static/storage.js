// What the scripts keep in the browser's storage. Storage may be missing in frames:
// then nothing is kept.

/** The names of drafts begin with it. The user, by a hash, and the path of the form follow, each after a space. */
export const draftPrefix = "formulary.draft";

/** Its value is another one after each sign-out, in whatever tab. */
export const signedOut = "formulary.signedOut";

/** Does something with the storage. A browser may refuse it, or have no room left. */
export function access(act) {
  try {
    return act(window.localStorage);
  } catch {
    return undefined;
  }
}

/** Removes the draft of what the page says was sent. */
export function forgetSent() {
  if (document.querySelector("[data-sent]")) {
    access((store) => {
      store.removeItem(sessionStorage.getItem("formulary.sent") ?? "");
      sessionStorage.removeItem("formulary.sent");
    });
  }
}

/** The names of the drafts that are kept. */
export function draftNames(store) {
  return Object.keys(store).filter((name) => name.startsWith(`${draftPrefix} `));
}
