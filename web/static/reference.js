// Shows the description of the API. "Authorize" takes a token, which stays in this page.
"use strict";
if (matchMedia("(prefers-color-scheme: dark)").matches) {
  document.documentElement.classList.add("dark-mode");
}
window.ui = SwaggerUIBundle({
  url: "../openapi.json",
  dom_id: "#docs",
  deepLinking: true,
  displayRequestDuration: true,
  docExpansion: "none",
  filter: true,
  validatorUrl: null, // by default it asks a validator on the net
});
