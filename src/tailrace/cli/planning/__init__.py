"""What `tailrace plan` asks for, and how it shows what it found."""
