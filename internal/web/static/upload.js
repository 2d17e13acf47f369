// Sends a form that has files with XMLHttpRequest: it alone tells how much has
// been sent.

import { announce, call, create, find } from "./dom.js";
import { t } from "./text.js";

const fileInputs = 'input[type="file"]';
const advice = () => t("Check your connection and the size of the files, then try again.");

/**
 * Sends a form as if the submitter had been pressed. Calls release when the form
 * can be sent again, and attach when the answer has replaced the page's content.
 */
export function upload(form, submitter, { release, attach }) {
  const data = new FormData(form);
  if (submitter?.name) {
    data.append(submitter.name, submitter.value);
  }
  const address = new URL(call(form, "getAttribute", "action") ?? "", document.baseURI).href;
  const request = new XMLHttpRequest();
  find(form, "[data-upload-error]").forEach((old) => old.remove());
  const box = progressBox(form, request);

  const stop = () => {
    box.remove();
    release();
    submitter?.focus();
  };
  const fail = (problem) => {
    stop();
    const text = `${problem} ${t("What you entered is still here.")}`;
    call(form, "append", create("p", { role: "alert", class: "error", "data-upload-error": "" }, text));
  };

  request.onload = () => {
    const page = request.response?.querySelector("main");
    if (request.responseURL !== address) {
      location.assign(request.responseURL); // the server redirected
    } else if (page?.querySelector("form[data-form]")) {
      showPage(request.response, form); // the form with what is wrong, or the sign-in
      attach();
    } else {
      fail(page?.querySelector("p")?.textContent ?? `${t("The server refused the form (status {0}).", request.status)} ${advice()}`);
    }
  };
  request.onerror = () => fail(`${t("The server did not answer.")} ${advice()}`);
  request.onabort = () => {
    stop();
    announce(t("Sending was cancelled."));
  };
  request.open("POST", address);
  request.responseType = "document";
  request.send(data);
}

/** Shows the progress of a request at the end of the form, and a button that aborts it. */
function progressBox(form, request) {
  const box = create("div", { class: "upload" });
  const bar = create("progress", { max: 100, "aria-label": t("Sending") }); // without a value until one is known
  const text = create("span", {}, t("Sending…"));
  const cancel = create("button", { type: "button", class: "secondary" }, t("Cancel"));
  cancel.addEventListener("click", () => request.abort());
  box.append(bar, text, cancel);
  call(form, "append", box);
  announce(t("Sending…"));

  let quarters = 0;
  request.upload.onprogress = ({ lengthComputable, loaded, total }) => {
    if (!lengthComputable) {
      return;
    }
    const percent = Math.floor((100 * loaded) / total);
    bar.value = percent;
    text.textContent = percent < 100 ? t("Sending: {0} %", percent) : t("Sent. Waiting for the answer…");
    if (Math.floor(percent / 25) > quarters) {
      quarters = Math.floor(percent / 25);
      announce(text.textContent); // four times only, because it interrupts
    }
  };
  return box;
}

/** Replaces the page's content, except for the files that were chosen in the form. */
function showPage(page, oldForm) {
  const main = page.querySelector("main");
  document.title = page.title;
  document.querySelector("main")?.replaceWith(main);
  const action = (form) => call(form, "getAttribute", "action");
  const newForm = [...main.querySelectorAll("form[data-form]")].find((form) => action(form) === action(oldForm));
  if (newForm) {
    keepFiles(find(oldForm, fileInputs), find(newForm, fileInputs));
  }
  main.tabIndex = -1;
  main.scrollIntoView();
  main.focus(); // until the error summary takes it, if there is one
}

/** No script can choose files. So the old inputs replace the new ones, and the files stay chosen. */
function keepFiles(oldInputs, newInputs) {
  for (const input of oldInputs) {
    const successor = newInputs.find(({ name }) => name === input.name);
    if (!successor || input.files.length === 0) {
      continue;
    }
    successor.closest("[data-field]").querySelector("[data-again]")?.remove();
    for (const { name } of [...input.attributes]) {
      if (!successor.hasAttribute(name)) {
        input.removeAttribute(name); // never type: an input of another type has no files
      }
    }
    for (const { name, value } of [...successor.attributes]) {
      input.setAttribute(name, value);
    }
    successor.replaceWith(input);
  }
}
