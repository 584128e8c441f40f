// Program recording runs a command and draws its output as an animated picture. The
// lines appear in the picture at the same times as in the output of the command. "make
// recording" calls this program.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"time"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "recording:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("recording", flag.ContinueOnError)
	var (
		shown = flags.String("command", "", "the command as a user types it")
		until = flags.String("until", "", "a pattern; the first line that matches, and all after it, are not drawn")
		title = flags.String("title", "", "what the picture shows, in a sentence")
		file  = flags.String("write-to", "", "the file")
	)
	if err := flags.Parse(args); err != nil {
		return err
	}
	end, err := regexp.Compile(*until)
	if err != nil {
		return err
	}
	if flags.NArg() == 0 || *shown == "" || *file == "" {
		return errors.New("which command, and where to? recording -command TEXT -title TEXT -write-to FILE -- COMMAND")
	}
	cmd := exec.CommandContext(ctx, flags.Arg(0), flags.Args()[1:]...) //nolint:gosec // the caller names its own command
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return err
	}
	lines, err := record(out, func() time.Duration { return time.Since(began) })
	if err := errors.Join(err, cmd.Wait()); err != nil {
		return err
	}
	if *until != "" {
		lines = before(lines, end)
	}
	return os.WriteFile(*file, []byte(draw(picture{command: *shown, title: *title, lines: lines})), 0o644) //nolint:gosec // a page of the repository
}

// record reads all lines, and records the time at which it read each of them.
func record(from io.Reader, now func() time.Duration) ([]line, error) {
	var lines []line
	scanner := bufio.NewScanner(from)
	for scanner.Scan() {
		lines = append(lines, line{at: now(), text: scanner.Text()})
	}
	return lines, scanner.Err()
}
