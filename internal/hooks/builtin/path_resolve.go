package builtin

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxLinks bounds the links that are followed for one path, as the system does.
const maxLinks = 40

// resolve returns where the absolute path p leads when the system follows it:
// element by element, each link before the ".." behind it. Elements that do not
// exist are kept. [filepath.EvalSymlinks] fails for those, and so would miss a
// link to a place that is yet to be made.
func resolve(p string) (string, error) {
	actual := ""
	rest := strings.Split(p, "/")
	links, missing := 0, false
	for len(rest) > 0 {
		element := rest[0]
		rest = rest[1:]
		switch element {
		case "", ".":
			continue
		case "..":
			if missing {
				// The system refuses to go up from what is not there.
				return "", fmt.Errorf("%w: .. behind an element that does not exist", errUnresolved)
			}
			actual = strings.TrimSuffix(filepath.Dir("/"+actual), "/")
			continue
		}
		next := actual + "/" + element
		if missing {
			actual = next
			continue
		}
		info, err := os.Lstat(next)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			missing = true
		case err != nil:
			return "", fmt.Errorf("%w: %w", errUnresolved, err)
		case info.Mode()&fs.ModeSymlink != 0:
			if links++; links > maxLinks {
				return "", fmt.Errorf("%w: too many links", errUnresolved)
			}
			target, err := os.Readlink(next)
			if err != nil {
				return "", fmt.Errorf("%w: %w", errUnresolved, err)
			}
			if filepath.IsAbs(target) {
				actual = ""
			}
			rest = append(strings.Split(target, "/"), rest...)
			continue
		}
		actual = next
	}
	if actual == "" {
		return "/", nil
	}
	return actual, nil
}
