// What scripts say in other languages than English, by the English texts. The server answers with another
// module for pages in another language: see text.js. How times are written is in languages.yaml.
export const lang = "en";
export const timeLayout = "2 Jan 2006, 15:04";
export const months = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec";
export const messages = {};
