package datadir

// CallerInbox is the inbox of the commands of this program. No other user may read it.
const CallerInbox = "_INBOX." + NATSCaller

// NATSCertificate, beside the URL files, is the certificate of the listener. Commands on this machine reach
// it by an address that the certificate does not name, so they ask for this very one.
const NATSCertificate = "listener.pem"

// NATSDir, in the data directory, holds a file with a URL for each user of the NATS listener.
const NATSDir = "nats"

// NATSCaller is the NATS user with which the commands of this program look for tools and try them.
const NATSCaller = "caller"

// NATSPrefix is the first token of all subjects.
const NATSPrefix = "pawl"
