// Functions that draw the page: h makes elements, and morph changes the shown
// elements to equal them. Text is never interpreted as HTML.

// h makes an element. Attributes that are null, undefined or false are left out.
export function h(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value !== null && value !== undefined && value !== false) {
      element.setAttribute(name, value === true ? "" : value);
    }
  }
  element.append(...children.flat(Infinity).filter((c) => c !== null && c !== undefined && c !== false));
  return element;
}

// morph changes the children of a shown element to equal those of a wanted one.
// A child that stays keeps its DOM node, and so its focus, its scroll position
// and the text typed into it. A child with a data-key also keeps its node when it
// moves.
export function morph(shown, wanted) {
  const keys = new Set(Array.from(wanted.children, keyOf));
  const keyed = new Map();
  for (const child of shown.children) {
    if (keyOf(child)) keyed.set(keyOf(child), child);
  }
  let at = shown.firstChild;
  for (const want of Array.from(wanted.childNodes)) {
    while (at && keyOf(at) && !keys.has(keyOf(at))) at = drop(at);
    let have = keyOf(want) ? keyed.get(keyOf(want)) : at && !keyOf(at) ? at : null;
    if (!have || have.nodeName !== want.nodeName) {
      shown.insertBefore(want, at);
      continue;
    }
    if (have === at) at = at.nextSibling;
    else shown.insertBefore(have, at);
    if (have.nodeType === Node.TEXT_NODE) {
      if (have.data !== want.data) have.data = want.data;
    } else {
      sameAttributes(have, want);
      morph(have, want);
    }
  }
  while (at) at = drop(at);
}

// show is morph for a list of children.
export function show(element, ...children) {
  morph(element, h("div", null, ...children));
}

function keyOf(node) {
  return node.dataset?.key;
}

function drop(node) {
  const next = node.nextSibling;
  node.remove();
  return next;
}

// The user's own attributes are left alone.
const theirs = new Set(["open", "value", "checked"]);

function sameAttributes(shown, wanted) {
  for (const { name } of Array.from(shown.attributes)) {
    if (!wanted.hasAttribute(name) && !theirs.has(name)) shown.removeAttribute(name);
  }
  for (const { name, value } of wanted.attributes) {
    if (!theirs.has(name) && shown.getAttribute(name) !== value) shown.setAttribute(name, value);
  }
}
