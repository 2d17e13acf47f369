// What scripts say, in the language of the page.

import * as messagesOfPage from "./messages.js";

export let { lang, messages } = messagesOfPage;

/** Has scripts speak as another module of messages does. */
export function speak(other) {
  ({ lang, messages } = other);
}

/** A text with arguments in place of {0}, {1}. The text is a literal: tests find it. */
export function t(text, ...args) {
  return fill(messages[text]?.other ?? text, args);
}

/** A text that counts something: {0} is the number. */
export function tn(one, many, number, ...args) {
  const texts = messages[many] ?? { one, other: many };
  const form = lang === "en" ? { 1: "one" }[number] : new Intl.PluralRules(lang).select(number);
  return fill(texts[form] ?? texts.other, [number, ...args]);
}

const fill = (text, args) => text.replace(/\{(\d)\}/g, (_, i) => args[i]);
