// Instances: what is shown of them, and the dialog that creates and edits them.

import { request } from "./api.js";
import { h, show } from "./dom.js";
import { button, mono, muted, pairs, state, titled } from "./parts.js";

const tones = { running: "good", pending: "moving", stopping: "moving", stopped: "idle", terminated: "bad" };

export const instances = {
  collection: "instances",
  title: "Instances",
  one: "instance",
  create: "New instance",
  empty: () => ["None. “New instance” creates one, and so does ", h("code", null, "simcloud create NAME"), "."],
  columns: ["Instance", "State", "Type and zone", "Addresses", ""],
  words: (i) => [i.id, i.name, i.state, i.type, i.zone, ...i.addresses.map((a) => a.address), ...pairs(i.labels)],
  row(i) {
    const path = `instances/${encodeURIComponent(i.id)}`;
    const about = `instances/${i.id}`;
    const gone = i.state === "terminated";
    const stopped = i.state === "stopped";
    return {
      cells: [
        titled(i, i.labels),
        state(i.state, tones[i.state] ?? "idle"),
        [i.type || muted("no type"), muted([i.zone, i.region].filter(Boolean).join(" in "))],
        i.addresses.length > 0
          ? i.addresses.map((a) => h("span", { class: "line" }, mono(a.address), " ", muted(a.type)))
          : muted("none"),
        h("span", { class: "buttons" },
          h("button", { type: "button", "data-key": "Edit", "data-edit": i.id, disabled: gone }, "Edit"),
          stopped
            ? button("Start", { method: "POST", path: `${path}/start`, about })
            : button("Stop", { method: "POST", path: `${path}/stop`, about, off: gone || i.state === "stopping" }),
          button("Terminate", { method: "DELETE", path, about, danger: true, off: gone })),
      ],
    };
  },
};

const dialog = () => document.getElementById("instance-dialog");

// edit opens the dialog for an instance, or for a new one.
export function edit(instance) {
  const value = instance ?? { name: "", zone: "", region: "", type: "", addresses: [], labels: {} };
  const field = (name, label, text, more) =>
    h("label", null, h("span", null, label), h("input", { name, value: text, autocomplete: "off", spellcheck: "false", ...more }));
  const lines = (name, label, text, placeholder) =>
    h("label", { class: "wide" }, h("span", null, label), h("textarea", { name, rows: 2, placeholder, spellcheck: "false" }, text));
  show(dialog(), h(
    "form",
    { method: "dialog", "data-key": `${instance?.id} ${Date.now()}` },
    h("h2", { id: "instance-title" }, instance ? `Instance ${instance.id}` : "New instance"),
    h("div", { class: "fields" },
      field("name", "Name", value.name, { required: true, autofocus: true }),
      field("type", "Type", value.type, { placeholder: "small" }),
      field("zone", "Zone", value.zone, { placeholder: "sim-1a" }),
      field("region", "Region", value.region, { placeholder: "sim-1" }),
      lines("addresses", "Addresses, one on each line", value.addresses.map((a) => `${a.type}=${a.address}`).join("\n"),
        instance ? "none" : "a free InternalIP"),
      lines("labels", "Labels, one on each line", pairs(value.labels).join("\n"), "rack=r1")),
    h("p", { class: "problem", role: "alert", hidden: true }),
    h("div", { class: "buttons end" },
      h("button", { type: "button", value: "cancel" }, "Cancel"),
      h("button", { type: "submit", class: "main" }, instance ? "Save" : "Create")),
  ));
  const form = dialog().querySelector("form");
  form.querySelector("[value=cancel]").addEventListener("click", () => dialog().close());
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send(form, instance);
  });
  dialog().showModal();
}

async function send(form, instance) {
  const error = form.querySelector(".problem");
  error.hidden = true;
  try {
    if (instance) await request("PATCH", `instances/${encodeURIComponent(instance.id)}`, changes(form, instance));
    else await request("POST", "instances", wanted(form));
    dialog().close();
  } catch (problem) {
    error.textContent = problem.message;
    error.hidden = false;
  }
}

// wanted returns the instance that the form describes.
function wanted(form) {
  const text = (name) => form.elements[name].value.trim();
  return {
    name: text("name"), type: text("type"), zone: text("zone"), region: text("region"),
    addresses: linesOf(text("addresses")).map((line) => {
      const [type, address] = cut(line);
      return address === undefined ? { type: "InternalIP", address: type } : { type, address };
    }),
    labels: Object.fromEntries(linesOf(text("labels")).map((line) => {
      const [key, value] = cut(line);
      return [key, value ?? ""];
    })),
  };
}

// changes returns the patch that changes an instance to what the form describes.
function changes(form, instance) {
  const { labels, ...rest } = wanted(form);
  const patch = { ...rest, labels: { ...labels } };
  for (const key of Object.keys(instance.labels ?? {})) {
    if (!(key in labels)) patch.labels[key] = null;
  }
  return patch;
}

const linesOf = (text) => text.split("\n").map((line) => line.trim()).filter(Boolean);

function cut(line) {
  const at = line.indexOf("=");
  return at < 0 ? [line] : [line.slice(0, at), line.slice(at + 1)];
}
