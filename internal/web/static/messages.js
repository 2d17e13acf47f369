// What scripts say in other languages than English, by the English texts. The server answers with another
// module for pages in another language: see text.js.
export const lang = "en";
export const messages = {};
