module example.org/__NAME__

go 1.24.0

require crossbridge.dev/sdk/go __SDK__
