package show

// Columns is how wide a text is on a terminal.
func Columns(text string) int { return columns(text) }
