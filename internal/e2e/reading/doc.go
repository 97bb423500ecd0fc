// Package reading has no code of its own. Its tests give a hub what others write: answers that
// cannot be read, errors instead of answers, and every JSON value in the place of every member.
package reading
