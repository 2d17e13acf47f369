// Shows the documentation of the API with Swagger UI, whose script comes before this one.

const place = /** @type {HTMLElement} */ (document.getElementById("swagger-ui"));

globalThis.SwaggerUIBundle({
  domNode: place,
  url: place.dataset.document,
  deepLinking: true,
  tryItOutEnabled: true,
  syntaxHighlight: false,
  validatorUrl: null,
  showExtensions: true,
  showCommonExtensions: true,
  defaultModelsExpandDepth: -1, // no list of all schemas
});
