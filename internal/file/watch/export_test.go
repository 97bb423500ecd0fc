package watch

var Rest = rest
