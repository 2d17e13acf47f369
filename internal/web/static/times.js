// Times are shown in the reader's zone. Without this script they are in the server's, which is named.

import * as messagesOfPage from "./messages.js";

let messages = messagesOfPage;

const twoDigits = (number) => String(number).padStart(2, "0");

/** A time as the server writes it: timeLayout is one of Go's package time. */
function write(at) {
  const parts = {
    2006: at.getFullYear(), Jan: messages.months.split(" ")[at.getMonth()], 1: at.getMonth() + 1, 2: at.getDate(),
    15: twoDigits(at.getHours()), "04": twoDigits(at.getMinutes()),
  };
  return messages.timeLayout.replace(/2006|Jan|15|04|1|2/g, (part) => parts[part]);
}

showTimes();

/** Called again when a part of the page is replaced, also in another language. */
export function showTimes(spoken = messages) {
  messages = spoken;
  for (const time of document.querySelectorAll("time")) {
    if (time.dateTime.includes("T")) { // days stay as they are
      time.textContent = write(new Date(time.dateTime));
    }
  }
  document.querySelectorAll("[data-zone]").forEach((zone) => zone.remove());
}
