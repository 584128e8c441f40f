// Package browser holds the tests that open the simulated cloud's page in headless
// Chromium. They click, type and read as a person would. Apart from the page, they use
// only the APIs of our programs and the accessibility rules of axe. The package is a
// module of its own, so that programs that link the daemon do not depend on the library
// that drives the browser.
package browser
