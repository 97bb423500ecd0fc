// Package dump writes and reads the content of a store in a form that does not depend on the
// database.
//
// # Format
//
// A file begins with the eight bytes "PARLEYEX". Frames follow: the length of the content in
// uvarint, a byte for the kind, the content, and four bytes with the CRC-32C of kind and content,
// big-endian. The kinds:
//
//	H  the Header, as JSON; the first frame
//	T  the beginning of a table: its name and columns, as JSON
//	R  rows of the table, one after the other
//	F  the beginning of a file with a large part: its name and size, as JSON
//	D  a piece of the file
//	E  the End, as JSON, with the SHA-256 of all bytes before this frame; the last frame
//
// A row has its values in the order of the columns: a number as a varint (zigzag), other values as
// the length plus one in uvarint and the bytes, or as 0 if there is none. Numbers are those of both
// databases. Texts are bytes, and may contain any byte. An id is its text.
//
// A change of the tables of a store, or of the bytes in them, is a change of this format: Version
// rises, and a Reader still reads all earlier versions. Since version 2, rows have checksums.
//
// # Guarantees
//
// A Reader returns an error with the position of the first frame that is damaged or missing. It
// reports the end of the file only after the sum of all bytes has been compared. It never
// allocates much more memory than the file has bytes.
//
// # Concurrency
//
// A Writer and a Reader belong to one goroutine.
package dump
