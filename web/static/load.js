/** Loads a page of this service as a document, which no script can come with. */
export function load(address, signal) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("GET", address);
    request.responseType = "document";
    request.addEventListener("load", () => resolve(request.response));
    request.addEventListener("error", reject);
    signal?.addEventListener("abort", () => request.abort());
    request.send();
  });
}
