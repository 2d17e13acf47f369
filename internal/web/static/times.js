// Times are shown in the reader's zone. Without this script they are in UTC.

import { lang } from "./text.js";

function digits(at) {
  if (lang !== "en") {
    return at.toLocaleString(`${lang}-u-ca-gregory-nu-latn`, {
      day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit", hourCycle: "h23", // as the server writes it
    });
  }
  const local = new Date(at.getTime() - at.getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 16).replace("T", " ");
}

showTimes();

/** Called again when a part of the page is replaced. */
export function showTimes() {
  for (const time of document.querySelectorAll("time")) {
    const text = time.textContent;
    if (time.dateTime.includes("T") && !time.title) { // days stay as they are
      time.title = text.endsWith("UTC") ? text : `${text} UTC`;
      time.textContent = digits(new Date(time.dateTime));
    }
  }
  document.querySelectorAll("[data-utc]").forEach((note) => note.remove());
}
