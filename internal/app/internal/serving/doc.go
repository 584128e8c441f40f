// Package serving is what the daemon answers over HTTPS: health, metrics and
// debugging to those who may ask, and the webhooks that a program adds.
//
// The servers end last: how the process stops can be watched.
//
// Only package app imports it. It knows neither flags nor controllers; what it
// reports of the other parts is handed to it.
package serving
