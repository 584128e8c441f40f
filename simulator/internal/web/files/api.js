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
    // Whoever answered was no simulated cloud; the status is all there is.
  }
  throw new Error(message);
}

// A watch that says nothing for so long is dead, whatever the browser thinks.
const patience = 12_000;
const pause = 1_000;

// watch calls told with each event of the cloud, and live when the connection
// comes and goes. It connects again for ever.
export function watch(events, told, live) {
  let source, timer;
  const connect = () => {
    source?.close();
    source = new EventSource(operator + "watch");
    source.onopen = () => {
      listen();
      live(true);
    };
    source.onerror = () => {
      live(false);
      again(pause);
    };
    for (const event of [...events, "beat"]) {
      source.addEventListener(event, (e) => {
        listen();
        told(event, JSON.parse(e.data));
      });
    }
    again(patience);
  };
  const again = (after) => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      live(false);
      connect();
    }, after);
  };
  const listen = () => again(patience);
  connect();
}
