package scaffold

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// Write writes the files below a folder. It overwrites nothing: if one of the
// files already exists, Write returns an error and writes none. If a file cannot
// be written, Write removes the files that it has written, and the folders that
// it has made.
func Write(dir string, files []File) error {
	var there []string
	for _, f := range files {
		path := filepath.Join(dir, filepath.FromSlash(f.Path))
		switch _, err := os.Lstat(path); {
		case err == nil:
			there = append(there, path)
		case errors.Is(err, syscall.ENOTDIR):
			return fmt.Errorf("a file is where a folder should be; choose another one: %w", err)
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
	}
	if len(there) > 0 {
		return fmt.Errorf("%s exists already%s; nothing was written, because existing files are not overwritten: move it away, or choose another folder", there[0], andMore(there[1:]))
	}
	var made []string // folders
	for n, f := range files {
		path := filepath.Join(dir, filepath.FromSlash(f.Path))
		made = append(made, missing(filepath.Dir(path))...)
		if err := create(path, f.Text); err != nil {
			for _, written := range files[:n] {
				err = errors.Join(err, os.Remove(filepath.Join(dir, filepath.FromSlash(written.Path))))
			}
			for _, folder := range slices.Backward(made) {
				_ = os.Remove(folder) // The folder might not exist, if it could not be made.
			}
			return err
		}
	}
	return nil
}

// missing returns those folders of the path that do not exist. The outermost
// folder comes first.
func missing(folder string) []string {
	if _, err := os.Lstat(folder); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return append(missing(filepath.Dir(folder)), folder)
}

func andMore(others []string) string {
	if len(others) == 0 {
		return ""
	}
	return fmt.Sprintf(", and %d more", len(others))
}

// create writes a file that does not exist.
func create(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil { //nolint:gosec // the umask decides, as for all sources
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666) //nolint:gosec // the command line names it
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	if err = errors.Join(err, file.Close()); err != nil {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}
