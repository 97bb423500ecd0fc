package livefile

var Rest = rest
