// The operator's API of the cloud that serves this page.

export const operator = "operator/v1/";

// request changes something. Its error is a sentence for the user.
export async function request(method, path, body) {
  let answer;
  try {
    answer = await fetch(operator + path, {
      method,
      headers: body === undefined ? {} : { "Content-Type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch {
    throw new Error("The simulated cloud does not answer.");
  }
  if (answer.ok) return;
  let message = `The cloud answered ${answer.status}.`;
  try {
    message = (await answer.json()).error.message;
  } catch {
    // The answer does not come from a simulated cloud, so it has only a status.
  }
  throw new Error(message);
}

// A watch that sends nothing for this time counts as dead, even if the browser
// reports it as open.
const silenceTimeout = 12_000;

// watch calls told with each event of the cloud, and live when the connection is
// opened or lost. It never stops connecting. Usually the browser reconnects. If
// the browser gives up or does not notice the loss, watch starts anew.
export function watch(events, told, live) {
  let source, timer;
  const connect = () => {
    source?.close();
    source = new EventSource(operator + "watch");
    source.onopen = () => {
      listen();
      live(true);
    };
    source.onerror = () => live(false);
    for (const event of [...events, "beat"]) {
      source.addEventListener(event, (e) => {
        listen();
        told(event, JSON.parse(e.data));
      });
    }
    listen();
  };
  const listen = () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      live(false);
      connect();
    }, silenceTimeout);
  };
  connect();
}
