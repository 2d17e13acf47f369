// Puts the same page in another language in the place of the page. Its forms keep their answers, also those of questions
// that are hidden now. Nothing is stored.

import { keepAnswers } from "./answers.js";
import { call } from "./dom.js";
import { speak } from "./text.js";
import { showTimes } from "./times.js";

/** Returns false if the page is another one by now, and has not all of the forms. */
export async function translate(tag) {
  const address = new URL(location.href);
  address.searchParams.set("lang", tag);
  const answer = await fetch(address);
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const forms = [...document.querySelectorAll("form[data-form], form.set")].map((form) => [form, successor(form, page)]);
  if (forms.some(([, next]) => !next)) {
    return false;
  }
  const { src } = /** @type {HTMLScriptElement} */ (page.querySelector("script[src]"));
  const messages = await import(new URL("messages.js", src).href);
  const select = () => /** @type {HTMLSelectElement} */ (document.getElementById("language"));
  if (select().value !== tag) {
    return true; // another one was chosen since
  }
  speak(messages);
  forms.forEach(([form, next]) => keepAnswers(form, next));
  const next = parts(page);
  parts(document).forEach((old, i) => old.replaceWith(next[i]));
  const { lang, dir } = page.documentElement;
  Object.assign(document.documentElement, { lang, dir });
  document.title = page.title;
  if (new URL(location.href).searchParams.has("lang")) {
    address.searchParams.delete("lang");
    history.replaceState(history.state, "", address);
  }
  showTimes(messages);
  document.dispatchEvent(new Event("translated"));
  select().focus();
  return true;
}

const parts = (page) => page.querySelectorAll("body > :is(.skip, header, main, footer)");

/** The same form on another page. */
function successor(form, page) {
  const next = page.getElementById(call(form, "getAttribute", "id"));
  const path = (of) => call(of, "getAttribute", "action").split("?")[0];
  return next && path(next) === path(form) && next;
}
