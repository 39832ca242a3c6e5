// Says in the page's head whether the page is followed live.
(() => {
  const light = document.getElementById("live");
  const say = (state, text) => {
    light.dataset.state = state;
    if (light.textContent !== text) light.textContent = text;
  };
  document.addEventListener("htmx:sse:after:connection", () => say("on", "Live"));
  document.addEventListener("htmx:sse:before:connection", (e) => {
    if (e.detail.connection.attempt > 0) say("off", "Reconnecting");
  });
  document.addEventListener("htmx:sse:close", (e) => {
    if (e.detail.reason === "message") say("", "");
    else if (e.detail.reason === "ended") say("off", "Not live: reload the page");
  });
  document.addEventListener("htmx:response:error", () => say("off", "Not live: reload the page"));
})();
