// The schema for people. The library and this file are served from here; nothing else is asked.
const place = document.getElementById("api");

function csrfToken() {
  const found = document.cookie.match(/(?:^|; )tertium_csrf=([^;]+)/);
  return found ? found[1] : "";
}

SwaggerUIBundle({
  url: place.dataset.schema,
  domNode: place,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  tryItOutEnabled: false,
  validatorUrl: null,
  requestInterceptor(request) {
    // A session needs the token against forged requests; another place than this one gets none.
    if (new URL(request.url, location.href).origin === location.origin && csrfToken()) {
      request.headers["X-CSRFToken"] = csrfToken();
    }
    return request;
  },
});
