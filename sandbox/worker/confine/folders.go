package confine

// Folders are what a program may reach that is not of this project, such as a tool: unlike after Apply, it can open
// files and start programs, in these folders alone.
type Folders struct {
	// Read are folders and files that it may read and run, Write those that it may also change.
	Read, Write []string
	// Network lets it make connections and send datagrams.
	Network bool
}
