// Package browser tests the console with a browser: a Chromium without a window before the
// command itself. Its tests are skipped on a machine without Chromium.
//
// With PARLEY_SHOTS=folder, the tests also write pictures of each page into that folder. The
// pictures of the documentation are written by
//
//	PARLEY_PICTURES=$PWD/docs/console go -C internal/e2e/browser test -run TestPictures .
package browser
