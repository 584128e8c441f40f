// Package command is the command line of the daemon: the daemon itself and its
// sub-commands. It is the only package that knows both the daemon and its dry runs.
// Apart from tests, only ccm imports it.
package command
