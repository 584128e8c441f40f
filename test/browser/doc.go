// Package browser holds the tests that open the simulated cloud's page in
// headless Chromium. They press what a person would press and look at what a
// person would see; beside it they use nothing but the program simcloud and its
// API. The module is one of its own, so that nobody who links the daemon meets
// the library that drives the browser.
package browser
