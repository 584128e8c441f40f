// Package browser holds the tests that open the simulated cloud's page in
// headless Chromium. They press what a person would press and look at what a
// person would see. Apart from that they use only our programs with their APIs, and
// the accessibility rules of axe. It is a module of its own, so that programs
// that link the daemon never meet the library that drives the browser.
package browser
