// Package mounttest writes files in the same way as the kubelet mounts a Secret. It
// is for tests of code that reads files again when they change. Only tests import
// it.
package mounttest

import (
	"os"
	"path/filepath"
	"testing"
)

// Write writes the files into the folder in the same way as the kubelet mounts a
// Secret. Each version has its own folder. A single rename points a link to the new
// folder. Then the former folder is removed.
func Write(t *testing.T, dir, version string, files map[string][]byte) {
	t.Helper()
	folder := filepath.Join(dir, ".."+version)
	next := filepath.Join(dir, "..next")
	former, _ := os.Readlink(filepath.Join(dir, "..data")) // empty at first
	err := os.Mkdir(folder, 0o700)
	for file, content := range files {
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, file), content, 0o600)
		}
	}
	if err == nil {
		err = os.Symlink(filepath.Base(folder), next)
	}
	if err == nil {
		err = os.Rename(next, filepath.Join(dir, "..data"))
	}
	for file := range files {
		if link := filepath.Join(dir, file); err == nil && !exists(link) {
			err = os.Symlink(filepath.Join("..data", file), link)
		}
	}
	if former != "" && err == nil {
		err = os.RemoveAll(filepath.Join(dir, former))
	}
	if err != nil {
		t.Fatal(err)
	}
}

func exists(file string) bool {
	_, err := os.Lstat(file)
	return err == nil
}
